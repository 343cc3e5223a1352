module quayside.example/client

go 1.22
