import type { Tool } from '@jackfield/sdk'
import type { AppCsp, AppPermission } from '@jackfield/sdk/extensions/ui'

/** The page of an app (extension `io.modelcontextprotocol/ui`). */
export interface AppRef {
  /** The configured name of the server that has the page. */
  readonly server: string
  /** Starts with `ui://`. */
  readonly uri: string
  /** The title of the page's resource, for display. */
  readonly title?: string
}

/** A page and its requested permissions. A page that differs in any of these is another version. */
export interface AppVersion {
  /** SHA-256 of the HTML, in hexadecimal. */
  readonly digest: string
  /** Size of the HTML in bytes. */
  readonly bytes: number
  /** Origins it may connect to. */
  readonly csp: AppCsp
  /** Requested browser permissions. */
  readonly permissions: readonly AppPermission[]
}

/** A file that an app offers to save. */
export interface AppFile {
  /** The suggested file name. */
  readonly name: string
  /** The MIME type, as declared by the app. */
  readonly mimeType: string
  /** Size of the contents in bytes. */
  readonly bytes: number
  /** The contents of a text file; otherwise `blob` is set. */
  readonly text?: string
  /** The contents of any other file, in base64. */
  readonly blob?: string
}

/** A request of an app: to show its page, or to act outside its frame. */
export type AppWish =
  | {
      readonly kind: 'page'
      readonly version: AppVersion
      /** The previously accepted version, if any. */
      readonly before?: AppVersion
      /** Invalid entries of its `csp`, which are ignored. */
      readonly ignored: readonly string[]
    }
  /** A page in a new tab. */
  | { readonly kind: 'link'; readonly url: string }
  /** A message in the conversation, as if the user had written it. */
  | { readonly kind: 'message'; readonly text: string }
  /** A text that the model gets with the user's next message. It replaces the previous one. */
  | { readonly kind: 'context'; readonly text: string }
  /** Files to save. */
  | { readonly kind: 'download'; readonly files: readonly AppFile[] }

/** An open page. */
export interface AppPage extends AppRef, AppVersion {
  /** The id of the open page, which cannot be guessed. */
  readonly id: string
  /** A host name label (RFC 1035) that is the same for all pages of one server, and for no other server. */
  readonly site: string
  /** The granted permissions. */
  readonly granted: readonly AppPermission[]
  /** Whether it prefers a border; absent if it declares no preference. */
  readonly prefersBorder?: boolean
  /** The tool whose call it shows. */
  readonly tool: Tool
  /** The conversation in which the tool was called; absent outside conversations. */
  readonly conversation?: string
  /** The activity row of the page, which is the cause of those of its requests. */
  readonly activity: number
}

/** The user's decision about a page. */
export interface AppConsent extends AppVersion {
  /** The name of the server when the user decided. */
  readonly server: string
  /** The server's identity. */
  readonly identity: string
  /** The URI of the page on its server; starts with `ui://`. */
  readonly uri: string
  /** Whether the page may be shown. */
  readonly verdict: 'allow' | 'deny'
  /** The granted permissions. */
  readonly granted: readonly AppPermission[]
  /** Whether it may change without a question, as long as it requests no more permissions. */
  readonly anyContents: boolean
  /** ISO 8601. */
  readonly at: string
}

/** The JSON-RPC response to an app's request. */
export type AppReply =
  | { readonly result: Readonly<Record<string, unknown>> }
  | { readonly error: { readonly code: number; readonly message: string } }

/** Options of `AppService.open`. */
export interface AppOpenOptions {
  /** The conversation in which the tool was called. Without one, the app cannot write messages or context. */
  conversation?: string
  /** The activity row of the call whose result it shows. */
  activity?: number
  /** Aborts opening; an open page stays open. */
  signal?: AbortSignal
  /** Closes the page when it is aborted. */
  closed?: AbortSignal
}

/** Apps: pages of servers that show the calls of their tools. */
export interface AppService {
  /**
   * Opens the page of a tool, by the tool's name in the catalog. Asks the user first, unless they agreed to exactly this
   * page before.
   * @throws McpError 'NOT_FOUND' if the tool has no app, 'INVALID' if it is disabled or its page is invalid or too large, 'REFUSED' if the user blocks it, 'LIMIT' if
   * too many are open, 'CANCELLED' if the user does not decide
   */
  open(tool: string, options?: AppOpenOptions): Promise<AppPage>
  /**
   * Handles an app's request: methods of the extension, `tools/call` and reads of its own server. Failures are responses. `say`
   * sends a message of the user in the conversation of the page.
   */
  request(
    page: string,
    request: { method: string; params: Readonly<Record<string, unknown>> },
    options: { signal?: AbortSignal; say?: (conversation: string, text: string) => void },
  ): Promise<AppReply>
  /** Closes an open page, which aborts its requests; an unknown id is ignored. */
  close(page: string): void
  /** An open page with its HTML; undefined if it is closed. */
  document(page: string): { readonly page: AppPage; readonly html: string } | undefined
  /** The open pages. */
  list(): AppPage[]
  /** Context texts of open pages that the model of this conversation does not have yet. They count as delivered afterwards. */
  takeContext(conversation: string): string[]
  /** The user's decisions about pages. */
  consents(): AppConsent[]
  /** Removes the decision about a page, so that it is asked about when opened; false if there was none. */
  forget(identity: string, uri: string): boolean
}
