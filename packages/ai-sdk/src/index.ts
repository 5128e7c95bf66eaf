export { type ClientToolsOptions, clientTools } from './client-tools.ts'
export {
  type CalledTool,
  type HostCall,
  type HostToolsOptions,
  hostTools,
  type ToolHost,
} from './host-tools.ts'
export { ToolCallError, type ToolOutput, type ToolProgress, type ToolsOptions } from './tool-set.ts'
