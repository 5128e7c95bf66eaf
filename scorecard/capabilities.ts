/** What the scripts are grouped by, in the order of the page. */
export const capabilities: Readonly<Record<`C${number}`, string>> = {
  C1: 'Any server, of any revision, over any transport',
  C2: 'Questions of servers: answered now, later, never on your behalf',
  C3: 'Asked before something happens',
  C4: 'Your model, used by servers',
  C5: 'Forms and pages',
  C6: 'Folders',
  C7: 'Resources',
  C8: 'Prompts',
  C9: 'Many tools',
  C10: 'Trust in what servers say about themselves',
  C11: 'Secrets and private data',
  C12: 'Looking back: messages, recordings, exports',
  C13: 'A program that others can build on',
  C14: 'Configuration, diagnosis, gateway, registry',
}
