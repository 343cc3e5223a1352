// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// An ERC-20 whose issuer can freeze holders as USDC's can, stop all moves, or make `transfer` return false without moving anything.
contract GuardedToken {
    address public immutable owner;
    string public symbol;
    uint8 public immutable decimals;
    uint256 public totalSupply;
    bool public stopped;
    bool public silent;
    mapping(address => uint256) public balanceOf;
    mapping(address => bool) public isBlacklisted;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(string memory symbol_, uint8 decimals_, uint256 supply) {
        owner = msg.sender;
        symbol = symbol_;
        decimals = decimals_;
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function setBlacklisted(address holder, bool listed) external {
        require(msg.sender == owner, "owner");
        isBlacklisted[holder] = listed;
    }

    function setStopped(bool stopped_) external {
        require(msg.sender == owner, "owner");
        stopped = stopped_;
    }

    function setSilent(bool silent_) external {
        require(msg.sender == owner, "owner");
        silent = silent_;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        require(!stopped, "stopped");
        require(!isBlacklisted[msg.sender] && !isBlacklisted[to], "blacklisted");
        if (silent) return false;
        require(balanceOf[msg.sender] >= value, "balance");
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}
