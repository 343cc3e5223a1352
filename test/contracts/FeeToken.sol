// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// Behaves as USDT on Ethereum: moves return nothing, and the owner can switch on a fee. Then the receiver's Transfer carries
/// the net value and a second Transfer brings the fee to the owner. Holders on the black list cannot send, but anybody can send to them.
contract FeeToken {
    address public immutable owner;
    string public symbol;
    uint256 public immutable decimals;
    uint256 public totalSupply;
    uint256 public feeBasisPoints;
    uint256 public feeMax;
    mapping(address => uint256) public balanceOf;
    mapping(address => bool) public isBlackListed;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(string memory symbol_, uint256 decimals_, uint256 supply) {
        owner = msg.sender;
        symbol = symbol_;
        decimals = decimals_;
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function setFee(uint256 basisPoints, uint256 maximum) external {
        require(msg.sender == owner, "owner");
        feeBasisPoints = basisPoints;
        feeMax = maximum;
    }

    function addBlackList(address holder) external {
        require(msg.sender == owner, "owner");
        isBlackListed[holder] = true;
    }

    function transfer(address to, uint256 value) external {
        require(!isBlackListed[msg.sender], "listed");
        _move(msg.sender, to, value);
    }

    function approve(address spender, uint256 value) external {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
    }

    function transferFrom(address from, address to, uint256 value) external {
        require(allowance[from][msg.sender] >= value, "allowance");
        allowance[from][msg.sender] -= value;
        _move(from, to, value);
    }

    function _move(address from, address to, uint256 value) private {
        require(balanceOf[from] >= value, "balance");
        uint256 fee = (value * feeBasisPoints) / 10000;
        if (fee > feeMax) fee = feeMax;
        balanceOf[from] -= value;
        balanceOf[to] += value - fee;
        emit Transfer(from, to, value - fee);
        if (fee > 0) {
            balanceOf[owner] += fee;
            emit Transfer(from, owner, fee);
        }
    }
}
