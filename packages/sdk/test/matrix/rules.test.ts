import { describe } from 'vitest'
import { transports } from '../transports/everywhere.ts'
import { tryRules } from './suites.ts'

// stdio starts a process for each client: rules-stdio.test.ts tries it at the same time.
describe.each(transports.filter(({ name }) => name !== 'stdio'))('over $name', tryRules)
