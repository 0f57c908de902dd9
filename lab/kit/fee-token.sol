// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// A token that takes a fee on each transfer, which anyone may set: what it moves is not what it is asked for.
contract FeeToken {
    string public constant name = "Fee Dollar";
    string public constant symbol = "FUSD";
    uint8 public constant decimals = 6;
    uint256 public permille;
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);

    /// For everybody, because the token is worth nothing.
    function setFee(uint256 permille_) external {
        permille = permille_;
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        require(balanceOf[msg.sender] >= value, "balance too low");
        uint256 fee = value * permille / 1000;
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - fee;
        emit Transfer(msg.sender, to, value - fee);
        if (fee > 0) {
            balanceOf[address(this)] += fee;
            emit Transfer(msg.sender, address(this), fee);
        }
        return true;
    }
}
