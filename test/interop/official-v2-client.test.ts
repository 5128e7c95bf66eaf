import { officialV2Clients } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of officialV2Clients) describePair(pair)
