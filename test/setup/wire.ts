import { afterAll, afterEach, vi } from 'vitest'
import { expectValid } from './schema-validation.ts'
import './received-messages.ts'
import './sent-messages.ts'

// Validates every message of every test by the official schema of its revision: what our servers encode, what reaches them
// in this process, and what our clients send or receive.

afterEach(expectValid)

// Files may share a process: what a file did to its clock, globals and environment ends with it.
afterAll(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
})
