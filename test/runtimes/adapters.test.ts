import { both, callsOnly } from './behaviours/lists.ts'
import { here, installed } from './place.ts'
import { testServing } from './serving.ts'

const node = [process.execPath, '--no-warnings'] as const

testServing({
  name: 'Express, under a prefix',
  command: [...node, 'programs/express.ts'],
  prefix: '/api',
  behaviours: both,
})
testServing({
  name: 'Express, behind a body parser',
  command: [...node, 'programs/express-parsed.ts'],
  behaviours: callsOnly,
})
testServing({
  name: 'Express, behind cors and compression',
  needs: installed('compression/index.js'),
  command: [...node, 'programs/express-middleware.ts'],
  behaviours: both,
})
testServing({
  name: 'Fastify, under a prefix',
  command: [...node, 'programs/fastify.ts'],
  prefix: '/api',
  behaviours: both,
})
testServing({
  name: 'Fastify, behind its body parser',
  command: [...node, 'programs/fastify-parsed.ts'],
  behaviours: callsOnly,
})
testServing({
  name: 'Hono on Node, under a prefix, behind cors and compress',
  needs: installed('@hono/node-server/package.json'),
  command: [...node, 'programs/hono-node.ts'],
  prefix: '/api',
  behaviours: both,
})
testServing({
  name: 'Hono on Bun, under a prefix, behind cors and compress',
  needs: installed('bun/bin/bun.exe'),
  command: [here('node_modules/.bin/bun'), 'programs/hono-bun.ts'],
  prefix: '/api',
  behaviours: both,
})
testServing({
  name: 'Next, built and started',
  needs: installed('next/package.json'),
  command: [...node, 'programs/next.ts'],
  prefix: '/api',
  behaviours: both,
})
