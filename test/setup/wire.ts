import { afterAll, afterEach, vi } from 'vitest'
import { verdict } from './judge.ts'
import './serving.ts'
import './speaking.ts'

// Holds every message of every test to the official schema of its revision: whatever a server of ours encodes, whatever
// reaches it in this process, and whatever one of our clients sends or receives.

afterEach(verdict)

// Files may share a process: what a file did to its clock, globals and environment ends with it.
afterAll(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
})
