// Asks a node with types that were made from docs/openapi.json.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const client = createClient<paths>({
  baseUrl: process.env.P2PNODE_URL!,
  headers: { Authorization: `Bearer ${process.env.P2PNODE_TOKEN}` },
});

const added = await client.POST("/v1/records", {
  params: { header: { "Idempotency-Key": "from TypeScript" } },
  body: { records: [{ a: 0.5, y: "1" }] },
});
const outcome: string | undefined = added.data?.lines?.[0]?.outcome;

const status = await client.GET("/v1/status", { params: { query: { fit: false } } });
const records: number | undefined = status.data?.records;

const predicted = await client.POST("/v1/predict", { body: { a: "0.5" } });
const value: number | undefined = predicted.data?.value;

const refused = await client.POST("/v1/predict", { body: { b: "0.5" } });
const hint: string | undefined = refused.error?.kind;

console.log(JSON.stringify({ outcome, records, number: Number.isFinite(value), kind: hint }));
