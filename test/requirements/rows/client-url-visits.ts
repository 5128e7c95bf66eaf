import type { Requirement } from '../requirement.ts'

/** Elicitation by URL, and the state behind it. */
export const clientUrlVisits: readonly Requirement[] = [
  {
    places: {
      '2511-276': 'client/elicitation#url-mode-elicitation-requests',
      '2607-309': 'client/elicitation#url-mode-elicitation-requests',
    },
    level: 'MUST',
    of: 'server',
    says: 'A URL is asked with its mode, a message, the URL and, in 2025-11-25, an id.',
    proof: ['packages/sdk/test/serve/questions.test.ts > is asked with its mode, message and URL'],
    runs: { everywhere: ['a question has everything its revision asks for'] },
  },
  {
    places: {
      '2511-277': 'client/elicitation#url-mode-elicitation-requests',
      '2607-310': 'client/elicitation#url-mode-elicitation-requests',
    },
    level: 'MUST',
    of: 'server',
    says: 'The URL is valid.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > is not put where it breaks the rules: %s',
      'packages/sdk/test/client/questions.test.ts > may not send the person to %s',
    ],
    runs: { everywhere: ['a visit has a URL of the web, on both sides'] },
  },
  {
    places: { '2511-278': 'client/elicitation#completion-notifications-for-url-mode-elicitation' },
    level: 'MUST',
    of: 'server',
    says: 'Word that a visit is finished goes to the client that was asked, and to no other.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > that sent somebody to a URL tell only that session when it is done, by the same id',
    ],
    runs: {
      everywhere: [
        'word that a visit is over has its id, and goes to the session that was asked and to no other',
      ],
    },
  },
  {
    places: { '2511-279': 'client/elicitation#completion-notifications-for-url-mode-elicitation' },
    level: 'MUST',
    of: 'server',
    says: 'That word has the id of the visit.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > that sent somebody to a URL tell only that session when it is done, by the same id',
    ],
    runs: {
      everywhere: [
        'word that a visit is over has its id, and goes to the session that was asked and to no other',
      ],
    },
  },
  {
    places: { '2511-280': 'client/elicitation#completion-notifications-for-url-mode-elicitation' },
    level: 'MUST',
    of: 'client',
    says: 'Word of visits nobody asked for, or that had ended, is ignored.',
    proof: [
      'packages/sdk/test/client/url-visits.test.ts > is heard once for a visit the server asked for, and ignored for every other',
    ],
    runs: { everywhere: ['word of a visit that nobody asked for, or that is over, is ignored'] },
  },
  {
    places: {
      '2511-281': 'client/elicitation#completion-notifications-for-url-mode-elicitation',
      '2607-311': 'client/elicitation#example-request-sensitive-data',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'The person can retry or cancel by hand.',
    proof: [
      'packages/app/test/cli/exits.test.ts > Ctrl+C ends a call under way with 130',
      'packages/app/test/chat/terminal-face.test.ts > Ctrl+C during a turn stops that turn and nothing else',
    ],
    runs: { only: 'application' },
  },
  {
    places: { '2511-282': 'client/elicitation#url-elicitation-required-error' },
    level: 'MUST NOT',
    of: 'server',
    says: 'The error -32042 is sent only where a visit is needed.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > reaches a client of 2025-11-25 with its visits, and is never made up',
    ],
    runs: {
      everywhere: ['that a visit is needed first is said by its own error with the visits, and nowhere else'],
    },
  },
  {
    places: { '2511-283': 'client/elicitation#url-elicitation-required-error' },
    level: 'MUST',
    of: 'author',
    says: 'That error lists the visits.',
    none: 'The SDK never sends it by itself: whoever throws it writes its data, which reaches the client unchanged.',
  },
  {
    places: { '2511-284': 'client/elicitation#url-elicitation-required-error' },
    level: 'MUST',
    of: 'author',
    says: 'That error lists only visits, each with an id.',
    none: 'The SDK never sends it by itself: whoever throws it writes its data, which reaches the client unchanged.',
  },
  {
    places: { '2511-294': 'client/elicitation#error-handling' },
    level: 'MUST',
    of: 'server',
    says: 'A request that needs a visit first is answered with -32042.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > reaches a client of 2025-11-25 with its visits, and is never made up',
    ],
    runs: {
      everywhere: ['that a visit is needed first is said by its own error with the visits, and nowhere else'],
    },
  },
  {
    places: { '2511-285': 'client/elicitation#statefulness' },
    level: 'MUST NOT',
    of: 'server',
    says: 'State of questions is bound to users, not to sessions alone, and kept from others.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > of one client are answered by that client and by no other',
      'packages/sdk/test/serve/questions.test.ts > on a session cannot be answered through another one, nor by somebody else',
      'packages/sdk/test/core/sealed-state.test.ts > is refused with one and the same message whatever was changed, and the reason stays in the log',
      'packages/sdk/test/core/sealed-state.test.ts > hides what it holds',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { '2511-286': 'client/elicitation#statefulness' },
    level: 'MUST NOT',
    of: 'server',
    says: 'State does not belong to a session id alone.',
    proof: [
      'packages/sdk/test/serve/http-legacy.test.ts > belongs to who began it: for anybody else it does not exist',
      'packages/sdk/test/serve/questions.test.ts > on a session cannot be answered through another one, nor by somebody else',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { '2511-287': 'client/elicitation#statefulness', '2607-313': 'client/elicitation#statefulness' },
    level: 'MUST',
    of: 'server',
    says: 'Stored state is kept from others.',
    proof: [
      'packages/sdk/test/core/sealed-state.test.ts > hides what it holds',
      'packages/sdk/test/core/sealed-state.test.ts > does not survive a change of any single character',
      'packages/sdk/test/core/sealed-state.test.ts > opens under an older key of the ring, and not for another audience',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { '2607-312': 'client/elicitation#statefulness' },
    level: 'MUST',
    of: 'server',
    says: 'Stored state is bound to users by their credentials, and kept from others.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > of one client are answered by that client and by no other',
      'packages/sdk/test/core/sealed-state.test.ts > is refused with one and the same message whatever was changed, and the reason stays in the log',
      'packages/sdk/test/core/sealed-state.test.ts > hides what it holds',
    ],
    runs: { only: 'callers' },
  },
  {
    places: { '2511-288': 'client/elicitation#statefulness', '2607-314': 'client/elicitation#statefulness' },
    level: 'MUST',
    of: 'server',
    says: 'Who the user is comes from their credentials.',
    proof: [
      'packages/sdk/test/serve/http-guard.test.ts > tells the handler who authenticated',
      'packages/sdk/test/serve/questions.test.ts > of one client are answered by that client and by no other',
    ],
    runs: { only: 'callers' },
  },
  {
    places: {
      '2511-314': 'client/elicitation#identifying-the-user',
      '2607-338': 'client/elicitation#identifying-the-user',
    },
    level: 'MUST NOT',
    of: 'server',
    says: 'What a client says about its user is not taken for who they are.',
    proof: [
      'packages/sdk/test/serve/http-guard.test.ts > tells the handler who authenticated',
      'packages/sdk/test/serve/envelope.test.ts > is served alike, whoever its client says it is',
      'packages/sdk/test/serve/http-legacy.test.ts > belongs to who began it: for anybody else it does not exist',
    ],
    runs: { everywhere: ['who somebody says they are changes nothing, on either side'] },
  },
  {
    places: {
      '2511-289': 'client/elicitation#url-mode-elicitation-for-oauth-flows',
      '2607-315': 'client/elicitation#url-mode-elicitation-for-oauth-flows',
    },
    level: 'MUST NOT',
    of: 'author',
    says: 'Visits do not replace the authorization of the server itself.',
    none: 'Whoever deploys a server decides how callers are authorized; nothing in the SDK takes a visit for it.',
  },
  {
    places: {
      '2511-290': 'client/elicitation#understanding-the-distinction',
      '2607-316': 'client/elicitation#understanding-the-distinction',
    },
    level: 'MUST NOT',
    of: 'author',
    says: 'Credentials of third parties do not pass through the client.',
    none: 'What happens at the URL is up to whoever writes it; an answer to a visit carries no content here.',
  },
  {
    places: {
      '2511-291': 'client/elicitation#understanding-the-distinction',
      '2607-317': 'client/elicitation#understanding-the-distinction',
    },
    level: 'MUST NOT',
    of: 'author',
    says: "A client's credentials are not used at third parties.",
    none: 'Whoever writes a handler decides what it calls with; it is told who the caller is, not their token.',
  },
  {
    places: {
      '2511-292': 'client/elicitation#understanding-the-distinction',
      '2607-318': 'client/elicitation#understanding-the-distinction',
    },
    level: 'MUST',
    of: 'author',
    says: 'The person authorizes the server directly.',
    none: 'What happens at the URL is up to whoever writes it; the client neither opens nor reads it.',
  },
  {
    places: {
      '2511-293': 'client/elicitation#understanding-the-distinction',
      '2607-319': 'client/elicitation#understanding-the-distinction',
    },
    level: 'MUST NOT',
    of: 'author',
    says: 'Credentials got by a visit do not reach the client.',
    none: 'Whoever writes a handler decides what it answers.',
  },
  {
    places: {
      '2511-302': 'client/elicitation#safe-url-handling',
      '2607-326': 'client/elicitation#safe-url-handling',
    },
    level: 'MUST NOT',
    of: 'author',
    says: 'A URL holds nothing sensitive about the person.',
    none: 'Whoever writes a handler makes the URL.',
  },
  {
    places: {
      '2511-303': 'client/elicitation#safe-url-handling',
      '2607-327': 'client/elicitation#safe-url-handling',
    },
    level: 'MUST NOT',
    of: 'author',
    says: 'A URL is not authenticated in advance.',
    none: 'Whoever writes a handler makes the URL.',
  },
  {
    places: {
      '2511-304': 'client/elicitation#safe-url-handling',
      '2607-328': 'client/elicitation#safe-url-handling',
    },
    level: 'SHOULD NOT',
    of: 'author',
    says: 'A form holds no URLs to be clicked.',
    none: 'Whoever writes a handler writes the form.',
  },
  {
    places: {
      '2511-305': 'client/elicitation#safe-url-handling',
      '2607-329': 'client/elicitation#safe-url-handling',
    },
    level: 'SHOULD',
    of: 'author',
    says: 'URLs are https outside of development.',
    none: 'Whoever writes a handler makes the URL; the terminal warns of others.',
  },
  {
    places: {
      '2511-306': 'client/elicitation#safe-url-handling',
      '2607-330': 'client/elicitation#safe-url-handling',
    },
    level: 'MUST',
    of: 'client',
    says: 'URLs are handled so that nobody follows a malicious one unknowingly.',
    proof: [
      'packages/host/test/forms/inspect-url.test.ts > beside a server at paypal.com, %j is %j',
      'packages/host/test/forms/inspect-url.test.ts > shows a name with other letters both ways',
      'packages/host/test/forms/inspect-url.test.ts > %j is not gone to',
      'packages/app/test/forms/ask-visit.test.ts > to anything but a web page cannot be given',
      'packages/sdk/test/client/questions.test.ts > may not send the person to %s',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-307': 'client/elicitation#safe-url-handling',
      '2607-331': 'client/elicitation#safe-url-handling',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'Nothing of a URL is fetched in advance.',
    proof: [
      'packages/host/test/asking/url-visits.test.ts > is shown whole with the server that asks, and nothing of it is fetched on %s',
      'packages/host/test/forms/elicitation.test.ts > is opened once the person agrees, and over for the server once they finished',
      'packages/host/test/forms/inspect-url.test.ts > is shown whole, however long, and taken apart without any request',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-308': 'client/elicitation#safe-url-handling',
      '2607-332': 'client/elicitation#safe-url-handling',
    },
    level: 'MUST NOT',
    of: 'client',
    says: 'A URL is not opened without consent.',
    proof: [
      'packages/host/test/forms/elicitation.test.ts > is opened once the person agrees, and over for the server once they finished',
      'packages/host/test/forms/inspect-url.test.ts > is shown whole, however long, and taken apart without any request',
      'packages/host/test/asking/url-visits.test.ts > is not agreed to for a person who was not there',
      'packages/app/test/forms/ask-visit.test.ts > shows the whole of a URL of more than 4,096 characters',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-309': 'client/elicitation#safe-url-handling',
      '2607-333': 'client/elicitation#safe-url-handling',
    },
    level: 'MUST',
    of: 'client',
    says: 'The whole URL is shown before consent.',
    proof: [
      'packages/app/test/forms/ask-visit.test.ts > shows the whole of a URL of more than 4,096 characters',
      'packages/host/test/forms/elicitation.test.ts > is opened once the person agrees, and over for the server once they finished',
      'packages/host/test/forms/inspect-url.test.ts > is shown whole, however long, and taken apart without any request',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-310': 'client/elicitation#safe-url-handling',
      '2607-334': 'client/elicitation#safe-url-handling',
    },
    level: 'MUST',
    of: 'client',
    says: 'A URL is opened where neither client nor model can look in.',
    proof: [
      'packages/host/test/forms/elicitation.test.ts > is opened once the person agrees, and over for the server once they finished',
      'packages/host/test/forms/inspect-url.test.ts > is shown whole, however long, and taken apart without any request',
      'packages/sdk/test/client/questions.test.ts > by URL is answered without content; forms are refused where only URLs were declared',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-311': 'client/elicitation#safe-url-handling',
      '2607-335': 'client/elicitation#safe-url-handling',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'The domain of a URL is set off.',
    proof: [
      'packages/app/test/forms/ask-visit.test.ts > to an imitation shows its real name, set off, and how it reads',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-312': 'client/elicitation#safe-url-handling',
      '2607-336': 'client/elicitation#safe-url-handling',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Suspicious URLs are warned about.',
    proof: [
      'packages/host/test/forms/inspect-url.test.ts > beside a server at paypal.com, %j is %j',
      'packages/host/test/forms/inspect-url.test.ts > shows a name with other letters both ways',
      'packages/app/test/forms/ask-visit.test.ts > to an imitation shows its real name, set off, and how it reads',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-313': 'client/elicitation#safe-url-handling',
      '2607-337': 'client/elicitation#safe-url-handling',
    },
    level: 'SHOULD NOT',
    of: 'client',
    says: 'Nothing but the `url` of a visit can be clicked.',
    proof: [
      'packages/app/test/forms/ask-visit.test.ts > is not made by a URL in a message, which stays text',
      'packages/app/test/output/sanitize.test.ts > never reaches a terminal with a control character in it',
    ],
    runs: { only: 'application' },
  },
  {
    places: { '2511-318': 'client/elicitation#phishing', '2607-342': 'client/elicitation#phishing' },
    level: 'MUST',
    of: 'author',
    says: 'Whoever opens the URL is identified before anything is accepted.',
    none: 'It binds the page behind the URL, which whoever deploys a server provides; handlers get the principal of the caller to compare with.',
  },
  {
    places: { '2511-319': 'client/elicitation#phishing', '2607-343': 'client/elicitation#phishing' },
    level: 'MUST',
    of: 'author',
    says: 'Whoever finishes a visit is the one who began it.',
    none: 'It binds the page behind the URL, which whoever deploys a server provides; handlers get the principal of the caller to compare with.',
  },
  {
    places: { '2511-320': 'client/elicitation#phishing', '2607-344': 'client/elicitation#phishing' },
    level: 'MUST',
    of: 'author',
    says: 'Changing the URL does not change who the person is taken for.',
    none: 'It binds the page behind the URL, which whoever deploys a server provides; handlers get the principal of the caller to compare with.',
  },
]
