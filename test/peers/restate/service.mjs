// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0
//
// The service that deed bench compares deed's HTTP door with: one handler, one
// ctx.run. Listens on the port in PORT.
import * as restate from "@restatedev/restate-sdk";

const payments = restate.service({
  name: "payments",
  handlers: {
    charge: async (ctx, order) => ctx.run("charge", () => ({ id: "ch_" + order.order_id, status: "succeeded" })),
  },
});

restate.serve({ services: [payments], port: Number(process.env.PORT) });
