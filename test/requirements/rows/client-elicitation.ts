import type { Requirement } from '../requirement.ts'

/** Elicitation: capability, forms and people. */
export const clientElicitation: readonly Requirement[] = [
  {
    places: { '2506-150': 'client/elicitation#capabilities', '2511-269': 'client/elicitation#capabilities' },
    level: 'MUST',
    of: 'client',
    says: 'A client that elicits declares the capability when a session begins.',
    proof: [
      'packages/sdk/test/client/declarations.test.ts > declares %s in initialize where it can answer, and nothing else',
    ],
    runs: {
      everywhere: [
        'a client declares what it can answer, when a session begins or on every request, and nothing else',
      ],
    },
  },
  {
    places: { '2607-302': 'client/elicitation#capabilities' },
    level: 'MUST',
    of: 'client',
    says: 'A client that elicits declares the capability on each request.',
    proof: ['packages/sdk/test/client/declarations.test.ts > declares %s on each of its requests'],
    runs: {
      everywhere: [
        'a client declares what it can answer, when a session begins or on every request, and nothing else',
      ],
    },
  },
  {
    places: { '2511-270': 'client/elicitation#capabilities', '2607-303': 'client/elicitation#capabilities' },
    level: 'MUST',
    of: 'client',
    says: 'A client that elicits has at least one mode.',
    proof: ['packages/sdk/test/client/declarations.test.ts > can show forms, URLs or both, and not neither'],
    runs: { everywhere: ['a client that can answer needs at least one way to do so'] },
  },
  {
    places: { '2511-271': 'client/elicitation#capabilities', '2607-304': 'client/elicitation#capabilities' },
    level: 'MUST NOT',
    of: 'server',
    says: 'A mode the client does not have is not asked for.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > is not put to a client that did not declare it: %s with %j',
    ],
    runs: { everywhere: ['a client is asked nothing that it did not declare'] },
  },
  {
    places: {
      '2511-272': 'client/elicitation#elicitation-requests',
      '2607-305': 'client/elicitation#elicitation-requests',
    },
    level: 'MUST',
    of: 'server',
    says: 'A question has its mode and a message.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > has what the revision asks for: message and form, prompt and limit',
      'packages/sdk/test/serve/questions.test.ts > is asked with its mode, message and URL',
    ],
    runs: { everywhere: ['a question has everything its revision asks for'] },
  },
  {
    places: {
      '2511-273': 'client/elicitation#elicitation-requests',
      '2607-306': 'client/elicitation#elicitation-requests',
    },
    level: 'MUST',
    of: 'client',
    says: 'Without a mode a question is a form.',
    proof: [
      'packages/sdk/test/client/questions.test.ts > gets defaults for every field the person left alone',
      'packages/sdk/test/client/questions.test.ts > with %s is refused as invalid, and nobody is bothered',
    ],
    runs: { everywhere: ['a question without a mode is a form'] },
  },
  {
    places: {
      '2511-274': 'client/elicitation#form-mode-elicitation-requests',
      '2607-307': 'client/elicitation#form-mode-elicitation-requests',
    },
    level: 'MUST',
    of: 'server',
    says: 'A form has its schema.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > has what the revision asks for: message and form, prompt and limit',
    ],
    runs: { everywhere: ['a question has everything its revision asks for'] },
  },
  {
    places: {
      '2511-275': 'client/elicitation#requested-schema',
      '2607-308': 'client/elicitation#requested-schema',
    },
    level: 'SHOULD',
    of: 'host',
    says: 'Defaults are filled in before the person answers.',
    proof: [
      'packages/app/test/forms/ask-form.test.ts > starts from the defaults, and tells what is optional and what fits',
      'packages/app/test/forms/ask-form.test.ts > left empty where there is a default shows and sends the default, as clients do',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2506-148': 'client/elicitation#user-interaction-model',
      '2506-151': 'client/elicitation#security-considerations',
      '2511-315': 'client/elicitation#form-mode-security',
      '2607-339': 'client/elicitation#form-mode-security',
    },
    level: 'MUST NOT',
    of: 'author',
    says: 'Forms do not ask for secrets.',
    none: 'Whoever writes a handler decides what its form asks; the travel server asks for no secret, and the terminal warns of fields that look like one.',
  },
  {
    places: {
      '2511-266': 'client/elicitation#user-interaction-model',
      '2607-299': 'client/elicitation#user-interaction-model',
    },
    level: 'MUST NOT',
    of: 'author',
    says: 'Forms do not ask for secrets.',
    none: 'Whoever writes a handler decides what its form asks; the travel server asks for no secret, and the terminal warns of fields that look like one.',
  },
  {
    places: {
      '2511-267': 'client/elicitation#user-interaction-model',
      '2607-300': 'client/elicitation#user-interaction-model',
    },
    level: 'MUST',
    of: 'author',
    says: 'Secrets are asked for by URL.',
    none: 'Whoever writes a handler decides; `ctx.elicitUrl` is there for it.',
  },
  {
    places: { '2506-149': 'client/elicitation#user-interaction-model' },
    level: 'SHOULD',
    of: 'host',
    says: 'The person sees which server asks, can change answers before they are sent, and can decline or cancel.',
    proof: [
      'packages/app/test/forms/ask-form.test.ts > filled in, reviewed and sent is an accept with exactly the values',
      'packages/app/test/forms/ask-form.test.ts > lets any one answer be changed at the review, and goes back from there',
      'packages/app/test/forms/ask-form.test.ts > %s gives that outcome and no content',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-268': 'client/elicitation#user-interaction-model',
      '2607-301': 'client/elicitation#user-interaction-model',
    },
    level: 'MUST',
    of: 'host',
    says: 'The person sees which server asks, can decline and cancel, reviews a form, and sees the host of a URL before agreeing.',
    proof: [
      'packages/app/test/forms/ask-form.test.ts > filled in, reviewed and sent is an accept with exactly the values',
      'packages/app/test/forms/ask-form.test.ts > lets any one answer be changed at the review, and goes back from there',
      'packages/app/test/forms/ask-form.test.ts > %s gives that outcome and no content',
      'packages/host/test/forms/elicitation.test.ts > is opened once the person agrees, and over for the server once they finished',
      'packages/host/test/forms/inspect-url.test.ts > is shown whole, however long, and taken apart without any request',
      'packages/app/test/forms/ask-visit.test.ts > to an imitation shows its real name, set off, and how it reads',
      'packages/host/test/asking/url-visits.test.ts > is shown whole with the server that asks, and nothing of it is fetched on %s',
    ],
    runs: { only: 'application' },
  },
  {
    places: { '2506-152': 'client/elicitation#security-considerations' },
    level: 'SHOULD',
    of: 'client',
    says: 'The person approves.',
    proof: [
      'packages/host/test/asking/asking.test.ts > carries %s to the server as it was meant',
      'packages/app/test/forms/ask-form.test.ts > filled in, reviewed and sent is an accept with exactly the values',
    ],
    runs: { only: 'application' },
  },
  {
    places: { '2506-153': 'client/elicitation#security-considerations' },
    level: 'SHOULD',
    of: 'both',
    says: 'Both sides validate answers by the schema.',
    proof: [
      'packages/sdk/test/client/questions.test.ts > is not answered with %s',
      'packages/sdk/test/core/answers.test.ts > that are %s are refused with the reason',
    ],
    runs: {
      everywhere: [
        'a client sends no values that do not fit the form',
        'a server takes no answer that does not fit its question',
      ],
    },
  },
  {
    places: {
      '2511-316': 'client/elicitation#form-mode-security',
      '2607-340': 'client/elicitation#form-mode-security',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'A client validates answers by the schema.',
    proof: [
      'packages/sdk/test/client/questions.test.ts > is not answered with %s',
      'packages/sdk/test/client/eras.test.ts > values that do not fit the form are never sent',
    ],
    runs: { everywhere: ['a client sends no values that do not fit the form'] },
  },
  {
    places: {
      '2511-317': 'client/elicitation#form-mode-security',
      '2607-341': 'client/elicitation#form-mode-security',
    },
    level: 'SHOULD',
    of: 'server',
    says: 'A server validates answers by the schema.',
    proof: [
      'packages/sdk/test/core/answers.test.ts > that are %s are refused with the reason',
      'servers/travel/test/tools/book-vacation.test.ts > books nothing when the answer does not fit the form',
    ],
    runs: { everywhere: ['a server takes no answer that does not fit its question'] },
  },
  {
    places: { '2506-154': 'client/elicitation#security-considerations' },
    level: 'SHOULD',
    of: 'client',
    says: 'The person sees which server asks.',
    proof: [
      'packages/app/test/forms/ask-form.test.ts > filled in, reviewed and sent is an accept with exactly the values',
      'packages/host/test/asking/asking.test.ts > carries %s to the server as it was meant',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2511-297': 'client/elicitation#security-considerations',
      '2607-322': 'client/elicitation#security-considerations',
    },
    level: 'MUST',
    of: 'client',
    says: 'The person sees which server asks.',
    proof: [
      'packages/app/test/forms/ask-form.test.ts > filled in, reviewed and sent is an accept with exactly the values',
      'packages/host/test/forms/elicitation.test.ts > is opened once the person agrees, and over for the server once they finished',
      'packages/host/test/forms/inspect-url.test.ts > is shown whole, however long, and taken apart without any request',
      'packages/host/test/asking/url-visits.test.ts > is shown whole with the server that asks, and nothing of it is fetched on %s',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2506-155': 'client/elicitation#security-considerations',
      '2511-299': 'client/elicitation#security-considerations',
      '2607-324': 'client/elicitation#security-considerations',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'The person can decline at any time.',
    proof: [
      'packages/app/test/forms/ask-form.test.ts > %s gives that outcome and no content',
      'packages/host/test/forms/generated.test.ts > every form reaches the person and every answer the server, exactly as they were',
      'packages/app/test/forms/ask-form.test.ts > declined with a note keeps it beside the outcome; thinking better of it asks again',
    ],
    runs: { only: 'application' },
  },
  {
    places: {
      '2506-156': 'client/elicitation#security-considerations',
      '2511-300': 'client/elicitation#security-considerations',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'Requests are limited in rate.',
    otherwise:
      'They are limited in number, at once and within one call, and a person has to answer each one; a rate besides would only refuse what they wait for.',
  },
  {
    places: {
      '2506-157': 'client/elicitation#security-considerations',
      '2511-301': 'client/elicitation#security-considerations',
      '2607-325': 'client/elicitation#security-considerations',
    },
    level: 'SHOULD',
    of: 'client',
    says: 'The person sees what is asked and why.',
    proof: [
      'packages/host/test/asking/asking.test.ts > carries %s to the server as it was meant',
      'packages/app/test/forms/ask-form.test.ts > filled in, reviewed and sent is an accept with exactly the values',
    ],
    runs: { only: 'application' },
  },
  {
    places: { '2511-295': 'client/elicitation#error-handling' },
    level: 'MUST',
    of: 'client',
    says: 'A mode that was not declared is refused with -32602.',
    proof: [
      'packages/sdk/test/client/questions.test.ts > a URL nobody declared',
      'packages/sdk/test/client/questions.test.ts > by URL is answered without content; forms are refused where only URLs were declared',
      'packages/sdk/test/client/url-visits.test.ts > means nothing for a visit this client refused to make',
    ],
    runs: { everywhere: ['a question that a client did not declare is refused, and reaches nobody'] },
  },
  {
    places: { '2607-320': 'client/elicitation#error-handling' },
    level: 'MUST',
    of: 'server',
    says: 'A server copes with declined, cancelled and failed questions.',
    proof: [
      'packages/sdk/test/asking/both-eras.test.ts > changes nothing when the person %s',
      'packages/sdk/test/asking/both-eras.test.ts > is left behind when the client fails to answer',
      'packages/sdk/test/asking/both-eras.test.ts > is left behind, and its catch too, when the client cannot be asked',
    ],
    runs: {
      everywhere: [
        'a form that is declined or left',
        'a client that fails to answer says so, and nothing of why',
        'a client is asked nothing that it did not declare',
      ],
    },
  },
  {
    places: {
      '2511-296': 'client/elicitation#security-considerations',
      '2607-321': 'client/elicitation#security-considerations',
    },
    level: 'MUST',
    of: 'server',
    says: 'A question belongs to the client and the user it was put to.',
    proof: [
      'packages/sdk/test/serve/questions.test.ts > of one client are answered by that client and by no other',
      'packages/sdk/test/serve/questions.test.ts > on a session cannot be answered through another one, nor by somebody else',
    ],
    runs: { only: 'callers' },
  },
]
