"""The queries that the text of the ICDT 2025 paper names or determines, written as head, dynamic and static atoms.

The extraction of the paper lost most symbols. Q2 to Q6 of figure 2 are rebuilt from all that the text says of them:

- Q2: well-behaved, not free-connex because of the head; materialisation is quadratic, as every value of one static
  relation may be paired with every value of another one over a bound variable; enumerated by three nested loops
  (examples 4, 17, 24).
- Q3: two dynamic atoms select from one static relation (examples 6, 26, 33, 38).
- Q4, Q5: results are grouped by a variable that both dynamic atoms and no static one have, with a transition system as
  for Q3 in each group; it is free in Q4 and bound in Q5 (section 8).
- Q6: its dynamic atoms, without the static variables, are the query R(A), S(A, B), T(B) (section 8); two variables are
  not in the only static atom (example 26).
"""

from __future__ import annotations

from static_dynamic_brute import query

Q1_LIKE = query("abcd", ["ab", "b"], ["ac", "cd"])  # Q2 with its bound variable free: the linear case
Q2 = query("abd", ["ab", "b"], ["ac", "cd"])
Q3 = query("ab", ["a", "b"], ["ab"])
Q4 = query("abc", ["ab", "ac"], ["bc"])
Q5 = query("bc", ["ab", "ac"], ["bc"])
Q6 = query("abc", ["a", "ab", "bc"], ["c"])
GUARDED_TRIANGLE = query("abc", ["abc"], ["ab", "bc", "ac"])  # example 4
TRIANGLE = query("abc", ["ab"], ["bc", "ac"])  # example 4
BODY_HARD = query("", ["a", "b"], ["ab"])  # section 7, proposition 39
HEAD_HARD = query("a", ["b"], ["ab"])  # section 7, proposition 53
REDUCED_HARD = query("ab", ["a", "ab", "b"])  # section 8: not q-hierarchical
