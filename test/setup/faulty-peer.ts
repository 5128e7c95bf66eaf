let declared: string | undefined

/**
 * Says that the peer played in this test sends something on purpose that the official schemas refuse. What ours
 * receive in this test is then let pass, and the test fails if all of it was right.
 */
export function faultyPeer(reason: string): void {
  declared = reason
}

/** Why this test's peer is faulty, if it is said to be. The next test begins without. */
export function faultsDeclared(): string | undefined {
  const reason = declared
  declared = undefined
  return reason
}
