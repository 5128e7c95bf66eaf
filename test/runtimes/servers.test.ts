import { both, stateless } from './behaviours/lists.ts'
import { here, installed } from './place.ts'
import { testServing } from './serving.ts'

const node = [process.execPath, '--no-warnings'] as const
const workerd = installed('workerd/bin/workerd')

testServing({ name: 'Node', command: [...node, 'programs/node.ts'], behaviours: both })
testServing({
  name: 'Bun',
  needs: installed('bun/bin/bun.exe'),
  command: [here('node_modules/.bin/bun'), 'programs/bun.ts'],
  behaviours: both,
})
testServing({
  name: 'Deno',
  needs: installed('deno/deno'),
  command: [here('node_modules/.bin/deno'), 'run', '--allow-net=127.0.0.1', 'programs/deno.ts'],
  behaviours: both,
})
testServing({
  name: 'workerd, in a worker',
  needs: workerd,
  command: [...node, 'programs/workerd.ts', 'worker.ts'],
  behaviours: stateless,
})
testServing({
  name: 'workerd, in a durable object',
  needs: workerd,
  command: [...node, 'programs/workerd.ts', 'worker-object.ts', 'Mcp'],
  behaviours: both,
})
