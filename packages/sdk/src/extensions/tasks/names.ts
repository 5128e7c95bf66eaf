/** The identifier of this extension. */
export const tasksExtension = 'io.modelcontextprotocol/tasks'
