// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

interface Payable {
    function transfer(address to, uint256 value) external;
}

/// Pays many in one transaction, out of what it holds or was sent.
contract Crowd {
    function coins(address payable[] calldata to, uint256[] calldata value) external payable {
        for (uint256 at = 0; at < to.length; at++) {
            (bool isPaid, ) = to[at].call{value: value[at]}("");
            require(isPaid, "not paid");
        }
    }

    /// Pays many in a call inside, which takes all of it back, and ends well.
    function vain(address payable[] calldata to, uint256[] calldata value) external payable {
        try this.undone(to, value) {} catch {}
    }

    function undone(address payable[] calldata to, uint256[] calldata value) external {
        for (uint256 at = 0; at < to.length; at++) {
            (bool isPaid, ) = to[at].call{value: value[at]}("");
            require(isPaid, "not paid");
        }
        revert("undone");
    }

    function tokens(Payable token, address[] calldata to, uint256[] calldata value) external {
        for (uint256 at = 0; at < to.length; at++) token.transfer(to[at], value[at]);
    }
}

/// A token that keeps a hundredth of each transfer, and says truly what arrived.
contract FeeToken {
    string public name;
    string public symbol;
    uint8 public immutable decimals;
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external {
        require(balanceOf[msg.sender] >= value, "balance too low");
        uint256 fee = value / 100;
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - fee;
        balanceOf[address(this)] += fee;
        emit Transfer(msg.sender, to, value - fee);
        emit Transfer(msg.sender, address(this), fee);
    }
}
