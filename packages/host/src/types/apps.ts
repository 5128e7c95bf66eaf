import type { Tool } from '@jackfield/sdk'
import type { AppCsp, AppPermission } from '@jackfield/sdk/extensions/ui'

/** The page of an app (extension `io.modelcontextprotocol/ui`). */
export interface AppRef {
  readonly server: string
  /** Starts with `ui://`. */
  readonly uri: string
  readonly title?: string
}

/** What a page is and what it asks for. A page that differs in any of this is another page. */
export interface AppVersion {
  /** SHA-256 of the HTML, in hexadecimal. */
  readonly digest: string
  readonly bytes: number
  /** Origins that it wants to reach. */
  readonly csp: AppCsp
  /** Permissions of the browser that it asks for. */
  readonly permissions: readonly AppPermission[]
}

/** A file that an app offers to save. */
export interface AppFile {
  readonly name: string
  readonly mimeType: string
  readonly bytes: number
  readonly text?: string
  /** Base64. */
  readonly blob?: string
}

/** What an app wants: that its page is shown, or something outside its frame. */
export type AppWish =
  | {
      readonly kind: 'page'
      readonly version: AppVersion
      /** The version that was agreed to before, if there was one. */
      readonly before?: AppVersion
      /** Entries of its `csp` that are no origins and were left out. */
      readonly ignored: readonly string[]
    }
  /** A page in a new tab. */
  | { readonly kind: 'link'; readonly url: string }
  /** A message in the conversation, as if the person had written it. */
  | { readonly kind: 'message'; readonly text: string }
  /** A text that the model gets with the person's next message. It replaces the one before. */
  | { readonly kind: 'context'; readonly text: string }
  | { readonly kind: 'download'; readonly files: readonly AppFile[] }

/** An open page. */
export interface AppPage extends AppRef, AppVersion {
  /** Identifies it and cannot be guessed. */
  readonly id: string
  /** A label of a host name (RFC 1035) that is the same for all pages of one server, and for no other server. */
  readonly site: string
  /** The permissions that it was given. */
  readonly granted: readonly AppPermission[]
  /** Whether it wants a border; absent if it does not say. */
  readonly prefersBorder?: boolean
  /** The tool that it shows. */
  readonly tool: Tool
  readonly conversation?: string
  /** The activity row of the page, which is the cause of those of its requests. */
  readonly activity: number
}

/** What the person decided about a page. */
export interface AppConsent extends AppVersion {
  /** The name of the server when the person decided. */
  readonly server: string
  /** What the server is, whatever it is called. */
  readonly identity: string
  readonly uri: string
  readonly verdict: 'allow' | 'deny'
  /** The permissions that it was given. */
  readonly granted: readonly AppPermission[]
  /** Whether it may change without a question, as long as it asks for no more. */
  readonly anyContents: boolean
  /** ISO 8601. */
  readonly at: string
}

/** The answer to a request of an app, as JSON-RPC has it. */
export type AppReply =
  | { readonly result: Readonly<Record<string, unknown>> }
  | { readonly error: { readonly code: number; readonly message: string } }

/** Options of `AppService.open`. */
export interface AppOpenOptions {
  /** The conversation in which the tool was called. Without one, the app cannot write messages or context. */
  conversation?: string
  /** The activity row of the call whose result it shows. */
  activity?: number
  signal?: AbortSignal
  /** Closes the page when it is aborted. */
  closed?: AbortSignal
}

/** Apps: pages of servers that show the calls of their tools. */
export interface AppService {
  /**
   * Opens the page of a tool, by the tool's name in the catalog. Asks the person first, unless they agreed to exactly this
   * page before.
   * @throws McpError 'INVALID' if the tool has no app, its page is not one or too large, or the person blocks it; 'LIMIT' if
   * too many are open; 'CANCELLED' if nobody decides
   */
  open(tool: string, options?: AppOpenOptions): Promise<AppPage>
  /**
   * Does what an app asks for: methods of the extension, `tools/call` and reads of its own server. Failures are replies.
   * `say` writes a message of the person in the conversation of the page.
   */
  request(
    page: string,
    request: { method: string; params: Readonly<Record<string, unknown>> },
    options: { signal?: AbortSignal; say?: (conversation: string, text: string) => void },
  ): Promise<AppReply>
  close(page: string): void
  /** An open page with its HTML; undefined if it is closed. */
  document(page: string): { readonly page: AppPage; readonly html: string } | undefined
  /** The open pages. */
  list(): AppPage[]
  /** Texts of open pages for the model of this conversation that it did not get yet. They count as given afterwards. */
  takeContext(conversation: string): string[]
  /** What the person decided about pages. */
  consents(): AppConsent[]
  /** Forgets the decision about a page, which is asked about when it is opened next; false if there was none. */
  forget(identity: string, uri: string): boolean
}
