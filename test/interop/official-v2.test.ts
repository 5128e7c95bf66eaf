import { officialV2Clients, officialV2Servers } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of [...officialV2Servers, ...officialV2Clients]) describePair(pair)
