import { only, type Requirement } from '../requirement.ts'

/** What a server does with headers that mirror the body. */
export const transportsHeadersServer: readonly Requirement[] = only('http', [
  {
    places: { '2607-261': 'basic/transports/streamable-http#protocol-version-header' },
    level: 'MUST',
    of: 'both',
    says: 'The version header says what `_meta` says; where not, 400 and a header mismatch.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > that say something else than the body are refused with 400 and -32020: %s',
      'packages/sdk/test/links/http-headers.test.ts > is a POST of one message with version, method and both content types in its headers',
    ],
  },
  {
    places: { '2607-265': 'basic/transports/streamable-http#standard-request-headers' },
    level: 'MUST',
    of: 'both',
    says: '`Mcp-Method` and `Mcp-Name` are required.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > are all required: a request without %s is refused with 400 and -32020',
      'packages/sdk/test/serve/http-headers.test.ts > are required on %s too, where the name is missing',
      'packages/sdk/test/links/http-headers.test.ts > is a POST of one message with version, method and both content types in its headers',
    ],
  },
  {
    places: { 'sep-2243-http-030': '2243-http-standardization#standard-headers' },
    level: 'MUST',
    of: 'server',
    says: 'Requests that lack a required header are refused.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > are all required: a request without %s is refused with 400 and -32020',
      'packages/sdk/test/serve/http-headers.test.ts > are required on %s too, where the name is missing',
    ],
  },
  {
    places: {
      '2607-278': 'basic/transports/streamable-http#value-encoding',
      'sep-2243-http-015': '2243-http-standardization#value-encoding',
    },
    level: 'MUST',
    of: 'both',
    says: 'The marks of base64 stand exactly so, and encoded values are decoded before they are compared.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > are decoded before they are compared',
      'packages/sdk/test/serve/http-headers.test.ts > without the exact marks are taken literally: %s',
      'packages/sdk/test/protocol/header-annotations.test.ts > is written as the rules say: %j is %j',
    ],
  },
  {
    places: {
      '2607-283': 'basic/transports/streamable-http#server-behavior-for-custom-headers',
      'sep-2243-http-019': '2243-http-standardization#server-behavior',
    },
    level: 'MUST',
    of: 'server',
    says: 'A mirrored argument with characters that may not be there is refused.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > with %s are refused with 400 and -32020',
      'packages/sdk/test/serve/http-headers.test.ts > no base64 at all, but the letters themselves',
    ],
  },
  {
    places: {
      '2607-284': 'basic/transports/streamable-http#server-behavior-for-custom-headers',
      'sep-2243-http-020': '2243-http-standardization#server-behavior',
    },
    level: 'MUST',
    of: 'server',
    says: 'Mirrored arguments are decoded and compared with the body; a difference is 400 and a header mismatch.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > are decoded before they are compared',
      'packages/sdk/test/serve/http-headers.test.ts > are refused with 400 and -32020 where %s',
    ],
  },
  {
    places: {
      '2607-285': 'basic/transports/streamable-http#server-behavior-for-custom-headers',
      'sep-2243-http-024': '2243-http-standardization#server-behavior',
    },
    level: 'MUST',
    of: 'both',
    says: 'An argument that is given has its header, and the server checks it.',
    proof: [
      'packages/sdk/test/links/http-headers.test.ts > travel where they are given, and only then',
      'packages/sdk/test/serve/http-headers.test.ts > of arguments match the body: %s',
      'packages/sdk/test/serve/http-headers.test.ts > are refused with 400 and -32020 where %s',
    ],
  },
  {
    places: {
      '2607-286': 'basic/transports/streamable-http#server-behavior-for-custom-headers',
      'sep-2243-http-025': '2243-http-standardization#server-behavior',
      '2607-287': 'basic/transports/streamable-http#server-behavior-for-custom-headers',
      'sep-2243-http-026': '2243-http-standardization#server-behavior',
    },
    level: 'MUST NOT',
    of: 'both',
    says: 'An argument that is null or absent has no header, and the server expects none.',
    proof: [
      'packages/sdk/test/links/http-headers.test.ts > travel where they are given, and only then',
      'packages/sdk/test/serve/http-headers.test.ts > nothing for null',
      'packages/sdk/test/serve/http-headers.test.ts > nothing for what is absent',
    ],
  },
  {
    places: {
      '2607-288': 'basic/transports/streamable-http#server-behavior-for-custom-headers',
      'sep-2243-http-027': '2243-http-standardization#server-behavior',
    },
    level: 'MUST',
    of: 'server',
    says: 'A request that lacks the header of an argument is refused.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > a header is missing',
      'packages/sdk/test/serve/http-headers.test.ts > a header inside an object is missing',
    ],
  },
  {
    places: {
      '2607-289': 'basic/transports/streamable-http#case-sensitivity',
      'sep-2243-http-003': '2243-http-standardization#standard-headers',
    },
    level: 'MUST',
    of: 'both',
    says: 'Names of headers are compared without case.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > are read in %s letters',
      'packages/sdk/test/links/http-headers.test.ts > are read whatever the case of their names',
    ],
  },
  {
    places: {
      'sep-2243-http-042': '2243-http-standardization#case-sensitivity',
      'sep-2243-http-043': '2243-http-standardization#case-sensitivity',
    },
    level: 'MUST',
    of: 'server',
    says: '`mcp-method` and `MCP-METHOD` are taken.',
    proof: ['packages/sdk/test/serve/http-headers.test.ts > are read in %s letters'],
  },
  {
    places: { 'sep-2243-http-044': '2243-http-standardization#case-sensitivity' },
    level: 'MUST',
    of: 'server',
    says: '`Mcp-Method: TOOLS/CALL` is refused: values have case.',
    proof: ['packages/sdk/test/serve/http-headers.test.ts > have values where case counts: %s'],
  },
  {
    places: {
      '2607-290': 'basic/transports/streamable-http#server-validation',
      'sep-2243-http-001': '2243-http-standardization#standard-headers',
      'sep-2243-http-033': '2243-http-standardization#header-spoofing',
    },
    level: 'MUST',
    of: 'server',
    says: 'Requests whose headers differ from the body are refused.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > that say something else than the body are refused with 400 and -32020: %s',
      'packages/sdk/test/serve/http-headers.test.ts > are refused with 400 and -32020 where %s',
    ],
  },
  {
    places: {
      '2607-291': 'basic/transports/streamable-http#server-validation',
      'sep-2243-http-002': '2243-http-standardization#standard-headers',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'Integers are compared by value.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > whole numbers by value',
      'packages/sdk/test/serve/http-headers.test.ts > a header says another number',
    ],
  },
  {
    places: {
      '2607-292': 'basic/transports/streamable-http#server-validation',
      'sep-2243-http-021': '2243-http-standardization#server-behavior',
      'sep-2243-http-028': '2243-http-standardization#server-behavior',
    },
    level: 'MUST',
    of: 'server',
    says: 'A failed check of headers is 400 with an error of its own code: -32020, which the proposal had as -32001.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > are all required: a request without %s is refused with 400 and -32020',
      'packages/sdk/test/serve/http-headers.test.ts > that say something else than the body are refused with 400 and -32020: %s',
      'packages/sdk/test/serve/http-headers.test.ts > are refused with 400 and -32020 where %s',
    ],
  },
  {
    places: { '2607-293': 'basic/transports/streamable-http#server-validation' },
    level: 'MUST',
    of: 'server',
    says: 'Encoded names and arguments are decoded before they are compared.',
    proof: ['packages/sdk/test/serve/http-headers.test.ts > are decoded before they are compared'],
  },
  {
    places: {
      'sep-2243-http-045': '2243-http-standardization#headerbody-mismatch',
      'sep-2243-http-046': '2243-http-standardization#headerbody-mismatch',
    },
    level: 'MUST',
    of: 'server',
    says: 'Another method or tool name in the header than in the body is refused with 400 and a header mismatch.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > that say something else than the body are refused with 400 and -32020: %s',
    ],
  },
  {
    places: {
      'sep-2243-http-047': '2243-http-standardization#headerbody-mismatch',
      'sep-2243-http-065': '2243-http-standardization#missing-custom-header-with-value-in-body',
    },
    level: 'MUST',
    of: 'server',
    says: 'A missing `Mcp-Method` or `Mcp-Name` is refused with 400 and a header mismatch.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > are all required: a request without %s is refused with 400 and -32020',
    ],
  },
  {
    places: { 'sep-2243-http-048': '2243-http-standardization#headerbody-mismatch' },
    level: 'MUST',
    of: 'server',
    says: 'Whitespace around a value is trimmed.',
    proof: ['packages/sdk/test/serve/http-headers.test.ts > are trimmed as HTTP trims them'],
  },
  {
    places: {
      'sep-2243-http-060': '2243-http-standardization#base64-decoding',
      'sep-2243-http-061': '2243-http-standardization#base64-decoding',
    },
    level: 'MUST',
    of: 'server',
    says: 'Base64 with bad padding or bad characters is refused with 400 and a header mismatch.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > bad padding',
      'packages/sdk/test/serve/http-headers.test.ts > characters that are none of base64',
    ],
  },
  {
    places: { 'sep-2243-http-066': '2243-http-standardization#missing-custom-header-with-value-in-body' },
    level: 'MUST',
    of: 'server',
    says: 'A mirrored argument whose header is missing is refused with 400 and a header mismatch.',
    proof: ['packages/sdk/test/serve/http-headers.test.ts > a header is missing'],
  },
  {
    places: {
      'sep-2243-http-056': '2243-http-standardization#type-restriction-violations',
      'sep-2243-http-057': '2243-http-standardization#type-restriction-violations',
      'sep-2243-http-058': '2243-http-standardization#type-restriction-violations',
    },
    level: 'MUST',
    of: 'server',
    says: 'A tool that marks an array, an object or null is refused.',
    proof: [
      'packages/sdk/test/protocol/header-annotations.test.ts > an array',
      'packages/sdk/test/protocol/header-annotations.test.ts > an object',
      'packages/sdk/test/protocol/header-annotations.test.ts > null',
    ],
  },
  {
    places: { 'sep-2243-http-059': '2243-http-standardization#type-restriction-violations' },
    level: 'MUST',
    of: 'server',
    says: 'A tool that marks a property inside an object is refused.',
    none: 'Of the proposal alone: the published revision allows such properties, and they are taken and checked.',
  },
  {
    places: { 'sep-2243-http-037': '2243-http-standardization#trusting-header-values' },
    level: 'MUST NOT',
    of: 'server',
    says: 'Mirrored values are not trusted for decisions of security.',
    proof: ['packages/sdk/test/serve/http-headers.test.ts > are never what a handler acts on'],
  },
  {
    places: { 'sep-2243-http-041': '2243-http-standardization#conformance-test-cases' },
    level: 'MUST',
    of: 'both',
    says: 'Conformance tests cover the edge cases of headers.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > have values where case counts: %s',
      'packages/sdk/test/serve/http-headers.test.ts > are trimmed as HTTP trims them',
      'packages/sdk/test/serve/http-headers.test.ts > without the exact marks are taken literally: %s',
      'packages/sdk/test/protocol/header-annotations.test.ts > is written as the rules say: %j is %j',
      'packages/sdk/test/protocol/header-annotations.test.ts > is refused by the client that reads it and the server that defines it: %s',
    ],
  },
  {
    places: { 'sep-2243-http-040': '2243-http-standardization#trusting-header-values' },
    level: 'SHOULD',
    of: 'reader',
    says: 'Oversized or excessive headers are refused early.',
    proof: [
      'packages/sdk/test/serve/http-headers.test.ts > that are too many or too long are refused before the body is read',
    ],
  },
  {
    places: { '2607-282': 'basic/transports/streamable-http#server-behavior-for-custom-headers' },
    level: 'MUST',
    of: 'reader',
    says: 'Intermediaries pass on `Mcp-Param-*` headers they do not know.',
    none: 'It binds intermediaries; none is part of this project.',
  },
  {
    places: {
      '2607-294': 'basic/transports/streamable-http#server-validation',
      'sep-2243-http-022': '2243-http-standardization#server-behavior',
    },
    level: 'MUST',
    of: 'reader',
    says: 'Intermediaries answer failed checks with an error status.',
    none: 'It binds intermediaries; none is part of this project.',
  },
  {
    places: {
      '2607-295': 'basic/transports/streamable-http#server-validation',
      'sep-2243-http-023': '2243-http-standardization#server-behavior',
    },
    level: 'SHOULD',
    of: 'reader',
    says: 'Intermediaries trust mirrored headers only where the version says they are checked.',
    none: 'It binds intermediaries; none is part of this project.',
  },
  {
    places: { 'sep-2243-http-038': '2243-http-standardization#trusting-header-values' },
    level: 'MUST',
    of: 'reader',
    says: 'What a mirrored value gives access to is checked against the permissions of the caller.',
    none: 'It binds intermediaries and whoever writes a handler: here mirrored headers give access to nothing.',
  },
  {
    places: { 'sep-2243-http-039': '2243-http-standardization#trusting-header-values' },
    level: 'MUST NOT',
    of: 'reader',
    says: 'Mirrored values alone give nobody privileges.',
    none: 'It binds intermediaries and whoever writes a handler: here mirrored headers give access to nothing.',
  },
  {
    places: { 'sep-2243-http-034': '2243-http-standardization#information-disclosure' },
    level: 'SHOULD NOT',
    of: 'author',
    says: 'Sensitive arguments are not mirrored.',
    none: 'Whoever defines a tool decides which arguments to mark.',
  },
  {
    places: { 'sep-2243-http-035': '2243-http-standardization#information-disclosure' },
    level: 'SHOULD',
    of: 'author',
    says: 'Documentation says which arguments are mirrored.',
    none: 'Whoever defines a tool decides which arguments to mark; the marks themselves are in the listed schema.',
  },
  {
    places: { 'sep-2243-http-036': '2243-http-standardization#information-disclosure' },
    level: 'SHOULD',
    of: 'author',
    says: 'Base64 is no encryption.',
    none: 'Whoever defines a tool decides which arguments to mark.',
  },
])
