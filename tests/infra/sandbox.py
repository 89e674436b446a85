"""What the stack `sandbox` is expected to say."""

INTERFACES = (
    *("ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets"),
    *("ec2:DeleteNetworkInterface", "ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses"),
)
"""What Lambda does with the role of a function in a network."""
