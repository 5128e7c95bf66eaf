/** The client of a host, without Node: for browsers, and for programs that attach to a running host. */
export { channelPair, streamChannel } from './channels.ts'
export {
  type ClientOptions,
  type ClientState,
  createHostClient,
  type HostClient,
  HostError,
  type TopicListener,
} from './client.ts'
export type * from './contract.ts'
export type { Channel, ClientFrame, Fault, HostFrame } from './frames.ts'
export type { Position, TopicUpdate } from './topic.ts'
export { applyChanges, type Change, changed, difference, type View } from './view.ts'
