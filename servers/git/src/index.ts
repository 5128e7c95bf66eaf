export { createGitServer, type GitServer, type GitServerOptions } from './server.ts'
