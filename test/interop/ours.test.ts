import { bothOurs } from './pairs.ts'
import { describePair } from './suite/pair.ts'

for (const pair of bothOurs) describePair(pair)
