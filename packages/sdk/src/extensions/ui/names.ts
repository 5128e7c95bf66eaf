/** The identifier of this extension. */
export const uiExtension = 'io.modelcontextprotocol/ui'

/** The media type of an app: a whole HTML document that speaks with its host. */
export const appMimeType = 'text/html;profile=mcp-app'
