import { officialV1Servers } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of officialV1Servers) describePair(pair)
