import type { Group } from '../feature.ts'
import { asking } from './asking.ts'
import { authorization } from './authorization.ts'
import { beyond } from './beyond.ts'
import { offering } from './offering.ts'
import { protocol } from './protocol.ts'
import { security } from './security.ts'
import { transports } from './transports.ts'

/** Every row of the table of features. */
export const groups: readonly Group[] = [
  protocol,
  offering,
  asking,
  transports,
  security,
  authorization,
  beyond,
]
