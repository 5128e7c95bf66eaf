import { setTimeout as sleep } from 'node:timers/promises'
import { type ContentBlock, type JsonSchema, ToolError, tool } from '@jackfield/sdk'
import { z } from 'zod'
import { png, wav } from './samples.ts'

/** Tools that send no input requests. */
export const tools = {
  test_simple_text: tool({
    description: 'Returns text',
    run: () => 'This is a simple text response for testing.',
  }),
  test_image_content: tool({
    description: 'Returns an image',
    run: (): ContentBlock => ({ type: 'image', data: png, mimeType: 'image/png' }),
  }),
  test_audio_content: tool({
    description: 'Returns audio',
    run: (): ContentBlock => ({ type: 'audio', data: wav, mimeType: 'audio/wav' }),
  }),
  test_embedded_resource: tool({
    description: 'Returns a resource',
    run: (): ContentBlock => ({
      type: 'resource',
      resource: {
        uri: 'test://embedded-resource',
        mimeType: 'text/plain',
        text: 'This is an embedded resource content.',
      },
    }),
  }),
  test_multiple_content_types: tool({
    description: 'Returns text, an image and a resource',
    run: (): ContentBlock[] => [
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: png, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: JSON.stringify({ test: 'data', value: 123 }),
        },
      },
    ],
  }),
  test_tool_with_logging: tool({
    description: 'Sends three log messages while it works',
    async run(_args, ctx) {
      ctx.log('info', 'Tool execution started')
      await sleep(50)
      ctx.log('info', 'Tool processing data')
      await sleep(50)
      ctx.log('info', 'Tool execution completed')
      return 'Tool with logging executed successfully'
    },
  }),
  test_tool_with_progress: tool({
    description: 'Reports progress three times while it works',
    async run(_args, ctx) {
      for (const done of [0, 50, 100]) {
        ctx.progress(done, 100, `Completed step ${done} of 100`)
        await sleep(50)
      }
      return 'Tool with progress executed successfully'
    },
  }),
  test_reconnection: tool({
    description: 'Closes its response stream, and responds after the client reconnects',
    async run(_args, ctx) {
      ctx.detach()
      await sleep(200)
      return 'Reconnection test completed successfully'
    },
  }),
  test_logging_tool: tool({
    description: 'Sends a log message, if the client asked for log messages',
    run(_args, ctx) {
      ctx.log('info', 'Only for clients that asked for log messages')
      return 'Logged'
    },
  }),
  test_error_handling: tool({
    description: 'Always fails',
    run(): string {
      throw new ToolError('This tool intentionally returns an error for testing')
    },
  }),
  json_schema_2020_12_tool: tool({
    description: 'Tool with JSON Schema 2020-12 features',
    input: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    } satisfies JsonSchema,
    run: (args) => JSON.stringify(args),
  }),
  test_x_mcp_header: tool({
    description: 'Has an argument that clients mirror into an HTTP header',
    input: z.object({ region: z.string().optional().meta({ 'x-mcp-header': 'Region' }) }),
    run: ({ region }) => `Region: ${region ?? 'none'}`,
  }),
}
