let declared: string | undefined

/**
 * Declares that the scripted peer of this test sends something that the official schemas reject. Received messages of this test
 * may then be invalid, and the test fails if all of them are valid.
 */
export function faultyPeer(reason: string): void {
  declared = reason
}

/** The declared reason why this test's peer is faulty. Resets for the next test. */
export function faultsDeclared(): string | undefined {
  const reason = declared
  declared = undefined
  return reason
}
