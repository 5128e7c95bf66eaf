import { play } from './checks.ts'

Object.assign(globalThis, { play })
