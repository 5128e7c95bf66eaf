export { serveGateways } from './front.ts'
export { GatewayRoom } from './room.ts'
