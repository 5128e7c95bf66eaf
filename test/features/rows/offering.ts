import { all, type Group, inMatrix, lacks, no, ours, part, ran, source, unknown, yes } from '../feature.ts'

export const offering: Group = {
  title: 'What a server offers',
  features: [
    inMatrix('tools in a list', all(yes(ran('gets the description and annotations of a tool')))),
    inMatrix(
      'every kind of content',
      all(yes(ran('gets a link to a resource')), { fastmcp: part('without annotations', ran('gets sound')) }),
    ),
    inMatrix('structured results', all(yes(ran('gets a structured result')))),
    {
      title: 'a handler’s result is typed by its output schema',
      since: '2025-06-18',
      ours: ours(
        'packages/sdk/test/server/types.test.ts > refuse a result that does not fit the output schema',
      ),
      peers: { v2: unknown, v1: unknown, fastmcp: unknown, lite: unknown },
    },
    inMatrix(
      'a failed tool, and invalid arguments',
      all(yes(ran("sees a tool's failure as a result")), {
        fastmcp: part('invalid arguments: an error', ran('is refused the arguments {"a":1} for add')),
        lite: part('invalid arguments: an error', ran('is refused the arguments {"a":1} for add')),
      }),
    ),
    inMatrix('unknown tools and prompts', {
      v2: yes(ran('gets an error for an unknown tool, and for a name of an object prototype')),
      v1: part(
        'a tool: as a result',
        ran('gets an error for an unknown tool, and for a name of an object prototype'),
      ),
      fastmcp: part(
        '-32601',
        ran('gets an error for an unknown tool, and for a name of an object prototype'),
      ),
      lite: part('-32601', ran('gets an error for an unknown tool, and for a name of an object prototype')),
    }),
    inMatrix('resources in a list', all(yes(ran('lists resources')))),
    inMatrix(
      'resources as text, as bytes, and by a template',
      all(yes(ran('reads what a template makes of encoded letters'))),
    ),
    inMatrix(
      'a resource that does not exist',
      all(part('-32601', ran('gets an error for an unknown resource')), {
        v2: yes(ran('gets an error for an unknown resource')),
        v1: yes(ran('gets an error for an unknown resource')),
      }),
    ),
    inMatrix('prompts', all(yes(ran('gets a prompt with all its arguments')))),
    inMatrix(
      'completion',
      all(yes(ran('completes an argument of a prompt')), {
        lite: no(source('[METHODS.COMPLETION.COMPLETE]: this.handleNotImplemented')),
      }),
    ),
    inMatrix('completion with the arguments chosen before', {
      v2: yes(ran('completes an argument by what was chosen before')),
      v1: yes(ran('completes an argument by what was chosen before')),
      fastmcp: no(source('request.params.argument.value,\n              this.#auth')),
      lite: no(source('[METHODS.COMPLETION.COMPLETE]: this.handleNotImplemented')),
    }),
    inMatrix(
      'notifications of changed lists',
      all(yes(ran('is notified of changed tools, and lists the new ones'))),
    ),
    inMatrix('notifications of a changed resource', {
      v2: part('on sessions, with a custom handler', ran('is notified that a subscribed resource changed')),
      v1: part('with a custom handler', ran('is notified that a subscribed resource changed')),
      fastmcp: yes(ran('is notified that a subscribed resource changed')),
      lite: no(source('[METHODS.RESOURCES.SUBSCRIBE]: this.handleNotImplemented')),
    }),
    {
      title: 'schemas of several libraries, and plain JSON Schema',
      ours: ours(
        'packages/sdk/test/server/forms.test.ts > valibot and arktype make forms too',
        'packages/sdk/test/server/tools.test.ts > plain JSON Schema is sent unchanged',
      ),
      peers: {
        v2: yes(source('fromJsonSchema')),
        v1: part('zod', lacks('StandardSchemaV1|fromJsonSchema')),
        fastmcp: yes(source('jsonSchemaAdapter')),
        lite: yes(source('StandardSchemaV1')),
      },
    },
    {
      title: 'middleware',
      ours: ours('packages/sdk/test/server/lists.test.ts > middleware wraps every request, outermost first'),
      peers: {
        v2: no(lacks('\\bserver\\.use\\(')),
        v1: no(lacks('\\bserver\\.use\\(')),
        fastmcp: part('observes tool calls', source('onToolCall')),
        lite: yes(source('use(middleware')),
      },
    },
    {
      title: 'rate limits per caller',
      ours: ours(
        'packages/sdk/test/server/rate-limit.test.ts > rejects calls of a caller beyond the burst, with a retry time, and accepts them after it',
      ),
      peers: {
        v2: no(lacks('rate-?[lL]imit')),
        v1: part('of its authorization endpoints', source('express-rate-limit')),
        fastmcp: no(lacks('rateLimit')),
        lite: no(lacks('rateLimit')),
      },
    },
    {
      title: 'a server generated from an OpenAPI document',
      ours: { has: 'no', note: '' },
      peers: {
        v2: no(lacks('fromOpenAPI')),
        v1: no(lacks('fromOpenAPI')),
        fastmcp: yes(source('fromOpenAPI')),
        lite: no(lacks('fromOpenAPI')),
      },
    },
  ],
}
