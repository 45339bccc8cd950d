"""The queries of DYN's section 5 and appendix D, over TPC-H and TPC-DS."""
