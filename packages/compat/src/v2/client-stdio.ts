/** `@modelcontextprotocol/client/stdio`. */
export {
  DEFAULT_INHERITED_ENV_VARS,
  getDefaultEnvironment,
  StdioClientTransport,
  type StdioServerParameters,
} from '../client/stdio.ts'
