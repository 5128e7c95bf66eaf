import { describe } from 'vitest'
import { transports } from '../transports/everywhere.ts'
import { tryRules } from './suites.ts'

describe.each(transports.filter(({ name }) => name === 'stdio'))('over $name', tryRules)
