"""What a request does: choosing, answering, questions, boards, votes, uploads, exports, erasure."""
