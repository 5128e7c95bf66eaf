import { officialV1Clients } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of officialV1Clients) describePair(pair)
