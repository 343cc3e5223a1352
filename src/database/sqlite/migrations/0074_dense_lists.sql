-- Whether somebody has chosen lists whose rows are close together.
ALTER TABLE people ADD COLUMN has_dense_lists INTEGER NOT NULL DEFAULT 0;
