import { officialV1Clients, officialV1Servers } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of [...officialV1Servers, ...officialV1Clients]) describePair(pair)
