module driver

go 1.22

require quayside.example/client v0.0.0

replace quayside.example/client => ../../../sdk/go
