import { referenceServers } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of referenceServers) describePair(pair)
