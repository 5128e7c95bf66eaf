import { officialV2Servers } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of officialV2Servers) describePair(pair)
