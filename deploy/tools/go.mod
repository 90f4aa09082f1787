module p2pnode/deploy/tools

go 1.26
