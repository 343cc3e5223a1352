-- When an operator last rewound the network: what is read again holds its sessions open from then on. 0: never.
ALTER TABLE networks ADD COLUMN rewound_at_ms INTEGER NOT NULL DEFAULT 0;
