// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// Somebody else's contract that logs what it likes: an ERC-20 Transfer nobody made, or an ERC-721 one with four topics.
contract LookAlike {
    string public constant symbol = "USDT";
    uint8 public constant decimals = 6;

    event Transfer(address indexed from, address indexed to, uint256 value);

    function claimTransfer(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }

    function claimNftTransfer(address from, address to, uint256 id) external {
        bytes32 topic = Transfer.selector;
        assembly {
            log4(0, 0, topic, from, to, id)
        }
    }
}
