export { Broker, isTransport } from './broker.ts'
