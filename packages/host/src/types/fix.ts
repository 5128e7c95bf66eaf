/**
 * What the user can do about a failure, as data. Each surface shows it in its own way: a terminal as a command, a page as
 * a button or a link. `fixText` is the sentence for a surface that has only text.
 */
export type Fix =
  /** Sign in to a server at an address. */
  | { readonly action: 'sign-in'; readonly server: string }
  /** Agree to start a server that a file of the working folder defines. */
  | { readonly action: 'approve'; readonly server: string }
  /** Diagnose the connection step by step. */
  | { readonly action: 'diagnose'; readonly server: string }
  /** Review definitions of a server that are new or changed, and disabled until they are accepted. */
  | { readonly action: 'review'; readonly server: string }
  /** Correct a setting of a server in its configuration. */
  | {
      readonly action: 'configure'
      readonly server: string
      readonly setting: 'command' | 'url' | 'headers' | 'auth' | 'era' | 'connectTimeoutMs'
    }
  /** Update a server, or this program: they have no revision of the protocol in common. */
  | { readonly action: 'update'; readonly server: string }
  /** Remove a server from the user's own configuration. */
  | { readonly action: 'uninstall'; readonly server: string }
  /** Pass a variable of the environment to a server, which holds credentials and is therefore not passed by default. */
  | { readonly action: 'pass-variable'; readonly server: string; readonly name: string }
  /** Set a secret that a configuration or a suspended call refers to. */
  | { readonly action: 'set-secret'; readonly name: string }
  /** Open a folder to servers. */
  | { readonly action: 'open-folder'; readonly folder: string }
  /** Remove a pattern that excludes folders. */
  | { readonly action: 'include-folders' }
  /** Find an event in the log. */
  | { readonly action: 'search-log'; readonly filter: string }
  /** Record what servers answer, to be played back. */
  | { readonly action: 'record' }
  /** Search the registry for a server. */
  | { readonly action: 'search-registry' }
  /** Choose another model. */
  | { readonly action: 'choose-model' }
