// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// Sends one token to many in one transaction, as exchanges' withdrawal contracts do. Tolerates tokens that return nothing.
contract BatchSender {
    /// Out of the caller's allowance, by transferFrom.
    function sendFromCaller(address token, address[] calldata to, uint256[] calldata values) external {
        for (uint256 at = 0; at < to.length; at++) {
            _call(token, abi.encodeWithSelector(0x23b872dd, msg.sender, to[at], values[at]));
        }
    }

    /// Out of this contract's own balance, by transfer.
    function sendOwn(address token, address[] calldata to, uint256[] calldata values) public {
        for (uint256 at = 0; at < to.length; at++) {
            _call(token, abi.encodeWithSelector(0xa9059cbb, to[at], values[at]));
        }
    }

    /// The transfers happen, then everything is undone: a failed transaction.
    function sendOwnThenRevert(address token, address[] calldata to, uint256[] calldata values) external {
        sendOwn(token, to, values);
        revert("undone");
    }

    /// The transfers are undone inside, the transaction itself succeeds.
    function sendOwnUndoneInside(address token, address[] calldata to, uint256[] calldata values) external {
        try this.sendOwnThenRevert(token, to, values) {
            revert("cannot happen");
        } catch {}
    }

    function _call(address token, bytes memory data) private {
        (bool ok, bytes memory answer) = token.call(data);
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "transfer failed");
    }
}
